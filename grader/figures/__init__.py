"""Every picture of the course, in one style. Draws what it is given; imports nothing of ours.

Each function shows its figure and returns None, so that a cell ends without a stray value.
One module a lesson; `style` holds what they share."""

from grader.figures.attention import (
    among_values,
    looks_at,
    one_head,
    prefix_weights,
    shuffled,
    soft_lookup,
)
from grader.figures.language_model import (
    language_model,
    looks,
    loss_curves,
    whole_course,
)
from grader.figures.masks import (
    change_by_position,
    dominant_key,
    future_share,
    masks,
    weights_under,
)
from grader.figures.softmax import (
    both_axes,
    running_sums,
    softmax_steps,
    times_ten,
    weights_against_temperature,
)
