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
from grader.figures.cache import scores_by_step, time_per_token, work_per_byte
from grader.figures.cost import (
    blocks,
    growth,
    one_match,
    shares_of_work,
    tables_to_scale,
    ways,
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
from grader.figures.multi_head import (
    cache_sizes,
    head_groups,
    head_maps,
    many_heads,
    numbered,
)
from grader.figures.online import fast_memory, peak_memory, running, tiles
from grader.figures.scaling import (
    entropy_by_width,
    gradient_by_width,
    same_scores_wider,
    spread_by_width,
    training,
    wrong_scales,
)
from grader.figures.softmax import (
    both_axes,
    running_sums,
    softmax_steps,
    times_ten,
    weights_against_temperature,
)
