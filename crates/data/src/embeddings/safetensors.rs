//! Embeddings in one `.safetensors` file: `tokens` and `offsets` (and `pooled`), or one tensor alone, the
//! pooled embeddings.

use super::array::{Array, Dtype, Numbers};
use super::table::{Cut, Parts, Table};
use crate::error::{Error, Place};
use safetensors::{SafeTensors, serialize_to_file, tensor::TensorView};
use std::path::Path;

pub(super) fn read(path: &Path) -> Result<Parts, Error> {
    let bytes = std::fs::read(path).map_err(Error::io(path))?;
    let file = SafeTensors::deserialize(&bytes).map_err(|error| {
        let reason =
            format!("not a whole .safetensors file: {error} (truncated, or something after its end?)");
        Error::malformed(Place::file(path), reason)
    })?;
    let array = |name: &str| {
        let tensor = file.tensor(name).ok();
        tensor.map(|tensor| array(Place::tensor(path, name), &tensor)).transpose()
    };
    if let [name] = file.names()[..]
        && name != "tokens"
        && let Some(rows) = array(name)?
    {
        return Ok(Parts { rows, cut: None });
    }
    match (array("tokens")?, array("offsets")?) {
        (Some(rows), Some(offsets)) => {
            Ok(Parts { rows, cut: Some(Cut { offsets, pooled: array("pooled")? }) })
        }
        _ => {
            let names = file.names().join(", ");
            let reason = format!(
                "expected the tensors `tokens` and `offsets`, or one tensor of pooled embeddings alone; found: {names}"
            );
            Err(Error::malformed(Place::file(path), reason))
        }
    }
}

fn array(place: Place, tensor: &TensorView<'_>) -> Result<Array, Error> {
    let dtype = match tensor.dtype() {
        safetensors::Dtype::F16 => Dtype::F16,
        safetensors::Dtype::BF16 => Dtype::Bf16,
        safetensors::Dtype::F32 => Dtype::F32,
        safetensors::Dtype::F64 => Dtype::F64,
        safetensors::Dtype::I32 => Dtype::I32,
        safetensors::Dtype::U32 => Dtype::U32,
        safetensors::Dtype::I64 => Dtype::I64,
        safetensors::Dtype::U64 => Dtype::U64,
        other => {
            let expected = "F16, BF16, F32 or F64 (offsets: I32, I64, U32, U64)";
            return Err(Error::Dtype { place, expected, found: other.to_string() });
        }
    };
    Ok(Array { place, shape: tensor.shape().to_vec(), numbers: Numbers::decode(dtype, tensor.data()) })
}

pub(super) fn write(path: &Path, table: &Table) -> Result<(), Error> {
    let pooled = bytes(table.all_pooled().iter().map(|x| x.to_le_bytes()));
    let width = table.width;
    let mut tensors = vec![("pooled", safetensors::Dtype::F32, vec![table.items(), width], pooled)];
    if let Some((tokens, offsets)) = table.all_tokens() {
        let rows = tokens.len() / width;
        tensors.push((
            "tokens",
            safetensors::Dtype::F32,
            vec![rows, width],
            bytes(tokens.iter().map(|x| x.to_le_bytes())),
        ));
        let numbers = bytes(offsets.iter().map(|&x| (x as i64).to_le_bytes()));
        tensors.push(("offsets", safetensors::Dtype::I64, vec![offsets.len()], numbers));
    }
    let views = tensors.iter().map(|(name, dtype, shape, data)| {
        TensorView::new(*dtype, shape.clone(), data).map(|view| (*name, view))
    });
    let views = views.collect::<Result<Vec<_>, _>>();
    let written = views.and_then(|views| serialize_to_file(views, None, path));
    written.map_err(|error| Error::malformed(Place::file(path), format!("cannot be written: {error}")))
}

fn bytes<const N: usize>(numbers: impl Iterator<Item = [u8; N]>) -> Vec<u8> {
    numbers.flatten().collect()
}
