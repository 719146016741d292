r"""How alike are two images?  PSNR and SSIM.  (chapter 8)

Images are `(..., h, w)`, NumPy or PyTorch; axes before the last two (examples, channels) are
averaged over. `data_range` is the distance from black to white: 255 for bytes, 1 for numbers in
[0, 1]. It has no default, since a wrong one gives a wrong score and no error.
"""

from math import exp, inf, log10
from typing import Any

from attn_course._arrays import (
    Array,
    namespace,
    require_axes,
    require_choice,
    require_shape,
    shape,
)


def psnr(image: Array, other: Array, *, data_range: float) -> float:
    r"""$10\log_{10}(L^2 / \mathrm{MSE})$ decibels, L the `data_range`; infinite for equal images.

    Where it misleads: it knows how large the errors are, not where. Here each pixel is off by 10,
    all in one direction or now up, now down: the first is hardly seen, the second a grid. SSIM
    tells them apart:

    >>> import numpy as np
    >>> image = np.add.outer(np.arange(32), np.arange(32)) * 2.0 + 50
    >>> grid = np.where(np.indices((32, 32)).sum(axis=0) % 2, 10.0, -10.0)
    >>> [round(psnr(image, seen, data_range=255), 2) for seen in (image + 10, image + grid)]
    [28.13, 28.13]
    >>> [round(ssim(image, seen, data_range=255), 2) for seen in (image + 10, image + grid)]
    [1.0, 0.49]
    """
    xp, image, other = _two_images(image, other, data_range)
    error = float(xp.mean((image - other) ** 2))
    return inf if error == 0 else 10 * log10(data_range**2 / error)


def ssim(
    image: Array,
    other: Array,
    *,
    data_range: float,
    window: str = "gaussian",
    size: int = 11,
    sigma: float = 1.5,
) -> float:
    r"""The mean of `ssim_map` over all windows (Wang et al., 2004): at most 1, and 1 iff equal.

    It agrees with scikit-image, given `gaussian_weights=True, use_sample_covariance=False`, if the
    windows are the same: scikit-image derives their size from sigma, 2 int(3.5 sigma + 0.5) + 1,
    which is 11 for 1.5. For another `sigma` set `size` too.

    Where it misleads: it compares place by place, so a fine pattern that moves by one pixel, which
    no viewer would notice, can become its own negative:

    >>> import numpy as np
    >>> stripes = np.arange(32 * 32).reshape(32, 32) % 2 * 1.0
    >>> ssim(stripes, np.roll(stripes, 1, axis=1), data_range=1) < -0.9
    True
    """
    windows = ssim_map(image, other, data_range=data_range, window=window, size=size, sigma=sigma)
    return float(namespace(windows=windows).mean(windows))


def ssim_map(
    image: Array,
    other: Array,
    *,
    data_range: float,
    window: str = "gaussian",
    size: int = 11,
    sigma: float = 1.5,
) -> Array:
    r"""Return how alike the images are in each window (Wang et al., 2004), brightness × structure.

    $$\frac{2\mu_x\mu_y + C_1}{\mu_x^2 + \mu_y^2 + C_1} \cdot
    \frac{2\sigma_{xy} + C_2}{\sigma_x^2 + \sigma_y^2 + C_2}$$

    where $\mu$, $\sigma^2$ and $\sigma_{xy}$ are mean, variance and covariance weighted by the
    window, $C_1 = (0.01 L)^2$ and $C_2 = (0.03 L)^2$ with L the `data_range`. The window is
    "gaussian" with a standard deviation of `sigma` pixels, or "uniform", and `size` pixels high
    and wide. Only windows that are wholly inside the image count: `(..., h, w)` gives
    `(..., h - size + 1, w - size + 1)`.
    """
    require_choice("window", window, ("gaussian", "uniform"))
    if size < 1 or size % 2 == 0:
        raise ValueError(f"size must be odd, so that a window has a middle, but is {size}.")
    if not sigma > 0:
        raise ValueError(f"sigma must be above 0, but is {sigma}.")
    _, x, y = _two_images(image, other, data_range)
    require_axes(2, "(..., h, w)", image=image)
    if min(shape(image)[-2:]) < size:
        raise ValueError(
            f"a window of {size} × {size} pixels does not fit into images of {shape(image)}, "
            "read as (..., h, w). Give a smaller size, or move the channels to the front."
        )
    weights = [
        exp(-(offset**2) / (2 * sigma**2)) if window == "gaussian" else 1.0
        for offset in range(-(size // 2), size // 2 + 1)
    ]
    weights = [w / sum(weights) for w in weights]
    mean_x, mean_y = _local_mean(x, weights), _local_mean(y, weights)
    variance_x = _local_mean(x * x, weights) - mean_x**2
    variance_y = _local_mean(y * y, weights) - mean_y**2
    covariance = _local_mean(x * y, weights) - mean_x * mean_y
    c_1, c_2 = (0.01 * data_range) ** 2, (0.03 * data_range) ** 2
    brightness = (2 * mean_x * mean_y + c_1) / (mean_x**2 + mean_y**2 + c_1)
    return brightness * (2 * covariance + c_2) / (variance_x + variance_y + c_2)


def _local_mean(image: Array, weights: list[float]) -> Array:
    """Return the weighted mean around each pixel whose window lies inside the image.

    The window is a product of two lines, so it is slid down and then across: 2 × size steps over
    the whole image, and no border to invent.
    """
    h, w = (n - len(weights) + 1 for n in shape(image)[-2:])
    down: Any = sum(weight * image[..., k : k + h, :] for k, weight in enumerate(weights))
    return sum(weight * down[..., :, k : k + w] for k, weight in enumerate(weights))


def _two_images(image: Array, other: Array, data_range: float) -> tuple[Any, Array, Array]:
    xp = namespace(image=image, other=other)
    require_shape(shape(image), "the shape of image", other=other)
    if 0 in shape(image):
        raise ValueError(f"the images have no pixels: they are {shape(image)}.")
    if not 0 < data_range < inf:
        raise ValueError(
            f"data_range must be above 0, but is {data_range}. "
            "It is the distance from black to white, such as 255 or 1."
        )
    # Bytes would overflow when squared.
    return xp, xp.astype(image, xp.float64), xp.astype(other, xp.float64)
