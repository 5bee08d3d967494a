//! Explanations as lines of text, as the command line prints them.

use super::{Account, Common, Explanation, Parting, Way};
use retreever_tree::NodeId;
use std::fmt::{self, Display, Formatter};

/// A node by its label, or by its number where there is none.
pub(super) struct Named<'a>(pub(super) NodeId, pub(super) &'a str);

impl Display for Named<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.1 {
            "" => write!(f, "node {}", self.0),
            label => write!(f, "{label}"),
        }
    }
}

/// A share of 1 as a percentage.
struct Percent(f64);

impl Display for Percent {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            small if small > 0.0 && small < 0.005 => write!(f, "<1%"),
            large if (0.995..1.0).contains(&large) => write!(f, ">99%"),
            share => write!(f, "{:.0}%", 100.0 * share),
        }
    }
}

impl Display for Way {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let measured = if self.calibrated { "calibrated on pairs" } else { "not calibrated" };
        write!(f, "where the answer is, most likely ({measured}):")?;
        let told = self.steps.iter().filter(|step| step.news);
        let last = self.steps.last().filter(|step| !step.news);
        for (depth, step) in told.chain(last).enumerate() {
            let (chance, node) = (Percent(step.chance.into()), Named(step.node, &step.label));
            write!(f, "\n  {:>4}  {:w$}{node}  [node {}]", chance.to_string(), "", step.node, w = 2 * depth)?;
        }
        for step in &self.others {
            let (chance, node) = (Percent(step.chance.into()), Named(step.node, &step.label));
            write!(f, "\n  {:>4}  or {node}  [node {}]", chance.to_string(), step.node)?;
        }
        Ok(())
    }
}

impl Display for Explanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}\n{}", self.parting, self.common, self.account)?;
        match self.parts {
            Some(parts) => {
                let score = parts.tree + parts.words;
                write!(
                    f,
                    "\nmixed score {score:.3} = {:.3} by the tree + {:.3} by words",
                    parts.tree, parts.words
                )
            }
            None => Ok(()),
        }
    }
}

impl Display for Parting {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let place = Named(self.place, &self.place_label);
        write!(
            f,
            "place: {place}, where the answer is with a chance of {}",
            Percent(self.place_chance.into())
        )?;
        match self.node {
            _ if self.on_way => write!(f, "; on the question's way"),
            NodeId::ROOT => write!(f, "; off the question's way from the first split on"),
            node => {
                let last = Named(node, &self.label);
                write!(f, "; on the question's way as far as {last} (level {})", node.level())
            }
        }
    }
}

impl Display for Common {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "in common at level {}: {}", self.level, Percent(self.share))?;
        for (at, node) in self.nodes.iter().enumerate() {
            let before = if at == 0 { " = " } else { " + " };
            write!(f, "{before}{} {}", Percent(node.common), Named(node.node, &node.label))?;
        }
        match (self.nodes.is_empty(), self.others) {
            (true, _) => Ok(()),
            (false, others) if others < 0.0005 => Ok(()),
            (false, others) => write!(f, " + {} elsewhere", Percent(others)),
        }
    }
}

impl Display for Account {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "score {:.3} = {:.3} of the average document", self.score, self.average)?;
        let part = |adds: f64| (if adds < 0.0 { "-" } else { "+" }, adds.abs());
        for subject in &self.subjects {
            let (sign, adds) = part(subject.adds);
            match subject.node {
                NodeId::ROOT => write!(f, " {sign} {adds:.3} for the choice of subject")?,
                node => write!(f, " {sign} {adds:.3} within {}", Named(node, &subject.label))?,
            }
        }
        let (sign, others) = part(self.others);
        write!(f, " {sign} {others:.3} elsewhere")
    }
}
