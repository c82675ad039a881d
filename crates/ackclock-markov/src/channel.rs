//! The stationary distribution of a climbing chain together with a channel of two states.
//!
//! A state is (k, channel). A round takes it to k+1 with the matrix `survive[k]` over channel
//! states, or to `down[k]` with `lose[k]`. R_k are the visits to level k+1 between two visits to
//! levels up to k, starting from level k. The recursion is:
//!
//! ```text
//! pi_{k+1} = pi_k R_k,   R_{k-1} = S_{k-1} (I - U_k)^-1,   U_k = sum over w with down(w) = k of
//! R_k … R_{w-1} F_w
//! ```
//!
//! U_k are the returns to level k from above. The probability v_k to leave level k for good is a
//! sum of the same products over k <= w <= hi(k-1). I - U_k has row sums v_k, so its inverse needs
//! no subtraction (as in the elimination of Grassmann, Taksar and Heyman). Products over a range
//! are formed as in [`crate::chain`], split at an anchor.

use crate::climb::{Refused, bottom, check_down, check_probabilities};

/// A matrix over channel states, row by row: from state 0 to 0 and 1, from 1 to 0 and 1.
pub type Matrix = [f64; 4];
/// One value per channel state.
pub type Vector = [f64; 2];

/// Stored masses are divided by a mass that grows beyond this.
const LARGE: f64 = 1e200;

const IDENTITY: Matrix = [1.0, 0.0, 0.0, 1.0];

fn times(a: Matrix, b: Matrix) -> Matrix {
    [
        a[0] * b[0] + a[1] * b[2],
        a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2],
        a[2] * b[1] + a[3] * b[3],
    ]
}

fn plus(a: Matrix, b: Matrix) -> Matrix {
    std::array::from_fn(|i| a[i] + b[i])
}

fn apply(a: Matrix, x: Vector) -> Vector {
    [a[0] * x[0] + a[1] * x[1], a[2] * x[0] + a[3] * x[1]]
}

fn row_sums(a: Matrix) -> Vector {
    apply(a, [1.0, 1.0])
}

/// Returns `(I - U)^-1` from U's off-diagonal entries and the row sums v of I - U; `None` if no
/// mass leaves.
fn inverse(returns: Matrix, leaving: Vector) -> Option<Matrix> {
    let size = leaving[0].max(leaving[1]).max(returns[1]).max(returns[2]);
    let [v, w, b, c] = [leaving[0], leaving[1], returns[1], returns[2]].map(|value| value / size);
    let determinant = v * w + v * c + w * b;
    // False also if all are zero, in which case their size is not a number.
    (determinant > 0.0).then(|| [w + c, b, c, v + b].map(|value| value / determinant / size))
}

/// Products R_j … R_{w-1} for j at the walk and any w in a range above it, split at an anchor.
struct Products {
    anchor: usize,
    /// R_j … R_{anchor-1}.
    near: Matrix,
    /// R_anchor … R_{anchor+i-1} at i.
    far: Vec<Matrix>,
    /// Sum of R_j … R_{w-1} f_w over j <= w <= anchor.
    leaving_near: Vector,
    /// Sum of R_anchor … R_{w-1} f_w over anchor < w <= anchor + i at i.
    leaving_far: Vec<Vector>,
}

impl Products {
    fn new(top: usize, fall: Vector) -> Self {
        Products {
            anchor: top,
            near: IDENTITY,
            far: vec![IDENTITY],
            leaving_near: fall,
            leaving_far: vec![[0.0; 2]],
        }
    }

    /// Moves the walk one level down: `visits` is R of the level that the walk reaches, `fall` its
    /// f.
    fn descend(&mut self, visits: Matrix, fall: Vector) {
        self.near = times(visits, self.near);
        let above = apply(visits, self.leaving_near);
        self.leaving_near = [fall[0] + above[0], fall[1] + above[1]];
    }

    /// Moves the anchor to the walk's level; the range now ends at `high`.
    fn move_anchor(&mut self, level: usize, high: usize, visits: &[Matrix], lose: &[Matrix]) {
        self.anchor = level;
        self.near = IDENTITY;
        self.leaving_near = row_sums(lose[level]);
        self.far.truncate(1);
        self.leaving_far.truncate(1);
        let (mut product, mut sum) = (IDENTITY, [0.0; 2]);
        for w in level + 1..=high {
            product = times(product, visits[w - 1]);
            let fallen = apply(product, row_sums(lose[w]));
            sum = [sum[0] + fallen[0], sum[1] + fallen[1]];
            self.far.push(product);
            self.leaving_far.push(sum);
        }
    }

    /// Returns R_j … R_{w-1} for w at or above the anchor.
    fn product(&self, w: usize) -> Matrix {
        times(self.near, self.far[w - self.anchor])
    }

    /// Returns the sum of R_j … R_{w-1} f_w over j <= w <= high, high at or above the anchor.
    fn leaving(&self, high: usize) -> Vector {
        let far = apply(self.near, self.leaving_far[high - self.anchor]);
        [self.leaving_near[0] + far[0], self.leaving_near[1] + far[1]]
    }
}

/// Returns the stationary distribution: two masses (one per channel state) for each level, with a
/// total of one.
///
/// `survive` and `lose` hold a matrix per level; their sum is stochastic. At the top level, a
/// survivor stays there. A level with zero survival probability is the highest level reached.
///
/// # Errors
/// If lengths do not match, a value is not a probability, or the map is not as in [`crate::chain`].
/// Also if the channel never changes.
pub fn stationary(
    survive: &[Matrix],
    lose: &[Matrix],
    down: &[usize],
) -> Result<Vec<Vector>, Refused> {
    check_down(down)?;
    for matrices in [survive, lose] {
        if matrices.len() != down.len() {
            return Err(Refused::Length {
                expected: down.len(),
                found: matrices.len(),
            });
        }
        check_probabilities(matrices.as_flattened())?;
    }
    let top = survive
        .iter()
        .position(|s| *s == [0.0; 4])
        .unwrap_or(down.len() - 1);
    descend(survive, lose, down, top).climb(down.len())
}

/// Result of the walk down.
struct Descent {
    /// Lowest level to which the chain ever returns.
    bottom: usize,
    /// Distribution of the channel at that level.
    channel: Option<Vector>,
    /// R of the levels from there to below the top.
    visits: Vec<Matrix>,
}

fn descend(survive: &[Matrix], lose: &[Matrix], down: &[usize], top: usize) -> Descent {
    let mut bottom = bottom(down, top);
    let mut visits = vec![[0.0; 4]; top];
    let mut products = Products::new(top, row_sums(lose[top]));
    let mut channel = None;
    // The highest state that falls to the level or below it, and the highest that falls below it.
    let (mut highest, mut leaves) = (top, top);
    for level in (bottom..=top).rev() {
        if level < top {
            products.descend(visits[level], row_sums(lose[level]));
        }
        while leaves > level && down[leaves] >= level {
            leaves -= 1;
        }
        let is_left = down[leaves] < level;
        if leaves < products.anchor || !is_left {
            products.move_anchor(level, highest, &visits, lose);
        }
        let mut returns = if level == top { survive[top] } else { [0.0; 4] };
        let first = if is_left { leaves + 1 } else { level };
        for (w, &fall) in (first..).zip(&lose[first..=highest]) {
            returns = plus(returns, times(products.product(w), fall));
        }
        let leaving = if is_left {
            products.leaving(leaves)
        } else {
            [0.0; 2]
        };
        let Some(inverse) = inverse(returns, leaving) else {
            (bottom, channel) = (level, settled(returns, leaving));
            break;
        };
        visits[level - 1] = times(survive[level - 1], inverse);
        highest = leaves;
    }
    visits.drain(..bottom);
    Descent {
        bottom,
        channel,
        visits,
    }
}

/// Returns the channel's distribution at a level that is never left for good from at least one of
/// its states; `None` if it depends on the channel's initial state.
fn settled(returns: Matrix, leaving: Vector) -> Option<Vector> {
    let changes = returns[1] + returns[2];
    match leaving {
        _ if changes > 0.0 => Some([returns[2] / changes, returns[1] / changes]),
        [0.0, 0.0] => None,
        [0.0, _] => Some([1.0, 0.0]),
        _ => Some([0.0, 1.0]),
    }
}

impl Descent {
    fn climb(self, levels: usize) -> Result<Vec<Vector>, Refused> {
        let mut law = vec![[0.0; 2]; levels];
        law[self.bottom] = self.channel.ok_or(Refused::Reducible)?;
        for (level, visits) in (self.bottom..).zip(&self.visits) {
            let [x, y] = law[level];
            let next = [x * visits[0] + y * visits[2], x * visits[1] + y * visits[3]];
            law[level + 1] = next;
            let size = next[0].max(next[1]);
            if size > LARGE {
                law[self.bottom..=level + 1]
                    .as_flattened_mut()
                    .iter_mut()
                    .for_each(|value| *value /= size);
            }
        }
        let total: f64 = law.as_flattened().iter().sum();
        law.as_flattened_mut()
            .iter_mut()
            .for_each(|value| *value /= total);
        Ok(law)
    }
}
