//! A history that somebody sends, to import it or to put it in place of the one that is there: read, checked as a whole
//! and turned into rows. Whatever cannot be kept is refused by index and field; nothing is left out silently.

mod archive;
mod files;
mod filling;
mod grouping;
mod reading;
mod top;

use super::{
    Site,
    problem::{Problem, Wrong},
};
use crate::{
    access::{Scope, Viewer},
    domain::{Session, Target, TurnId, annotation::Flaw},
    store::{Detail, Replacement},
};
pub use archive::unpack;
use files::{Adopted, Uses};
use grouping::Plan;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// More than anybody reads: where the list of what is wrong ends.
const MOST_TOLD: usize = 100;

/// What is wrong so far.
#[derive(Default)]
struct Wrongs(Vec<Wrong>);

impl Wrongs {
    fn add(&mut self, index: usize, field: impl Into<String>, detail: impl Into<String>) {
        if self.0.len() < MOST_TOLD {
            self.0.push(Wrong { index: Some(index), field: field.into(), detail: detail.into() });
        }
    }

    fn add_all(&mut self, index: usize, flaws: Vec<Flaw>) {
        for flaw in flaws {
            self.add(index, flaw.field, flaw.detail);
        }
    }

    fn checked(self) -> Result<(), Problem> {
        if self.0.is_empty() { Ok(()) } else { Err(Problem::all_wrong(self.0)) }
    }
}

/// The rows that this body asks for. Files of other conversations are taken over on the way.
pub async fn read(
    site: &Site,
    viewer: &Viewer,
    (session, scope): (&Session, &Scope),
    body: &Value,
) -> Result<Replacement, Problem> {
    let top = top::read(body).map_err(|flaw| Problem::all_wrong(vec![Wrong::of(flaw)]))?;
    let mut wrong = Wrongs::default();
    let given = reading::entries(top.entries, &site.exclusive_tags, &mut wrong);
    wrong.checked()?;

    let stored = site.store.messages_of_session(session.session_id, None, None, Detail::WithTools).await?;
    let mut wrong = Wrongs::default();
    let plan = Plan::of(given, &stored, &mut wrong);
    let turns = turn_names(site, session, &plan, &mut wrong).await?;
    let uses = Uses::of(&plan);
    let found = uses.look(site, viewer, scope, &mut wrong).await?;
    wrong.checked()?;

    let Adopted { files, names } = found.adopt(site, scope).await?;
    let rows = filling::rows(plan, &filling::Names { files: names, turns }, session, viewer);
    Ok(Replacement { session: session.session_id, revision: session.revision, title: top.title, files, rows })
}

/// A turn belongs to one session: one that is somewhere else gets another id here. Refers a message to a turn that
/// does not come with it, it is refused.
async fn turn_names(
    site: &Site,
    session: &Session,
    plan: &Plan<'_>,
    wrong: &mut Wrongs,
) -> Result<HashMap<TurnId, TurnId>, Problem> {
    let here: HashSet<TurnId> = plan.steps.iter().filter_map(|step| step.turn).collect();
    for step in &plan.steps {
        let given = step.first();
        for (at, reference) in given.refs.iter().flatten().enumerate() {
            if let Target::Turn(turn) = reference.target()
                && !here.contains(&turn)
            {
                let why = "there is no such turn in this history";
                wrong.add(given.at, format!("refs[{at}].url"), why);
            }
        }
    }
    let here: Vec<TurnId> = here.into_iter().collect();
    let elsewhere = site.store.turns_elsewhere(session.session_id, &here).await?;
    Ok(elsewhere.into_iter().map(|turn| (turn, TurnId::new())).collect())
}
