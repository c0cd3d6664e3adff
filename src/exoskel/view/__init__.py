"""The viewer, images, videos and plots of scenes and motions."""
