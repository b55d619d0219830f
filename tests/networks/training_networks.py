# SPDX-License-Identifier: Apache-2.0
"""What the comparisons of training with PyTorch share: torchvision's networks at sizes that take seconds, as ONNX and as modules."""
import copy
import io
import warnings

import torch
import torch.nn.functional as F
from export import make_network

# Height and width of a picture: small, but with at least 2x2 pixels in front of the last batch normalisation. Two values a channel, as of a batch of
# two with one pixel each, become 1 and -1 whatever they are: what is then left of a gradient is rounding.
SIZES = {"alexnet": 224, "squeezenet1_0": 96, "inception_v3": 139}
SIZE = 64


def shape_of(name, batch):
    size = SIZES.get(name, SIZE)
    return batch, 3, size, size


def modules_of(network, kind):
    return [module for module in network.modules() if isinstance(module, kind)]


def clear_of_kinks(bias):
    """Sets a channel's shift: even channels are on, odd ones off. With deviations of at most 0.4 values are then far from where activations have kinks
    (0; 6; -3 and 3).

    An input of ReLU that is nearer to 0 than rounding goes either way: in float32 its gradient is there or not, in PyTorch as in rynd. Among a million
    inputs there are always some, and behind batch normalisations by few values rounding is a hundred times larger. As sums of residual networks add
    even channels to even ones, they keep clear, too."""
    bias.fill_(1.5)
    bias[1::2] = -1.5


def normalise(convolution, inputs, output):
    """A hook that does once what a batch normalisation would do."""
    factor = 0.35 / output.std((0, 2, 3))
    mean = output.mean((0, 2, 3)) - convolution.bias
    convolution.weight.mul_(factor[:, None, None, None])
    clear_of_kinks(convolution.bias)
    convolution.bias.sub_(mean * factor)
    return convolution._conv_forward(inputs[0], convolution.weight, convolution.bias)


def network_of(name, x, fixed=False):
    """A network for a batch like x, clear of kinks, without dropout; vgg16 without the average to 7x7 pixels, of which 2x2 come here. Batch
    normalisations use the batch's statistics; fixed ones those of x, and they are not trained, as in most recipes of fine-tuning."""
    network = make_network(name)
    if name == "vgg16":
        network.avgpool = torch.nn.Identity()
        network.classifier[0] = torch.nn.Linear(512 * 2 * 2, 4096)
    norms = modules_of(network, torch.nn.BatchNorm2d)
    hooks = [] if norms else [module.register_forward_hook(normalise) for module in modules_of(network, torch.nn.Conv2d)]
    with torch.no_grad():
        for norm in norms:
            norm.weight.uniform_(0.3, 0.4)
            clear_of_kinks(norm.bias)
            norm.train()
            norm.momentum = 1.0
        network(torch.from_numpy(x))
    for hook in hooks:
        hook.remove()
    for norm in norms:
        norm.momentum = 0.1
        norm.train(not fixed)
        norm.requires_grad_(not fixed)
    return network


def onnx_of(network, x):
    """The file's bytes, as training wants it: in inference's form, for the shape of x."""
    network = copy.deepcopy(network).eval()
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(network, torch.from_numpy(x), file, opset_version=13, input_names=["x"], output_names=["y"], do_constant_folding=False,
                          training=torch.onnx.TrainingMode.PRESERVE)
    return file.getvalue()


def loss_of(network, x, labels):
    return F.cross_entropy(network(x), labels)
