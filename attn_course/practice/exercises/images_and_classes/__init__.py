"""The exercises of page 08c: PSNR, SSIM of one window, IoU, and both macro-F1."""
