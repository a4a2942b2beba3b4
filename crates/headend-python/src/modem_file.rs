//! Configuration files of cable modems: converts them to text and back, gives the table of TLVs,
//! and verifies and makes message integrity checks.

use docsis_config::File;
use docsis_config::mic::{self, MicError, Which};
use docsis_config::text;
use pyo3::prelude::*;

use crate::error::{catch_panic, config_error};

/// The file as TOML, for people.
#[pyfunction]
pub(crate) fn config_to_toml(data: &[u8]) -> PyResult<String> {
    catch_panic(|| text::to_toml(&File::decode(data)))
}

/// The file as JSON, for programs.
#[pyfunction]
pub(crate) fn config_to_json(data: &[u8]) -> PyResult<String> {
    catch_panic(|| text::to_json(&File::decode(data)))
}

/// The file as it is in force, as JSON: numbers in base units with the places of their TLVs, and
/// what follows of them.
#[pyfunction]
pub(crate) fn config_settings(data: &[u8]) -> PyResult<String> {
    catch_panic(|| headend::scenario::describe_modem_file(data))
}

/// The numbers that stand for what a file does not set, as JSON.
#[pyfunction]
pub(crate) fn config_defaults() -> PyResult<String> {
    catch_panic(headend::scenario::modem_file_defaults)
}

/// The file with the buffer and the AQM of another file's first upstream service flow, or with its
/// low latency.
#[pyfunction]
pub(crate) fn config_carry(
    py: Python<'_>,
    data: &[u8],
    source: &[u8],
    low_latency: bool,
) -> PyResult<Vec<u8>> {
    let carry = if low_latency {
        headend::scenario::carry_low_latency
    } else {
        headend::scenario::carry_queue
    };
    catch_panic(|| carry(data, source))?.map_err(|why| config_error(py, &why, None, None))
}

/// The bytes of the file that TOML or JSON describes.
#[pyfunction]
pub(crate) fn config_from_text(py: Python<'_>, text: &str) -> PyResult<Vec<u8>> {
    catch_panic(|| text::from_text(text).map(|file| file.encode()))?.map_err(|error| {
        let path = Some(error.path.as_str()).filter(|path| !path.is_empty());
        config_error(py, &error.to_string(), error.line, path)
    })
}

/// The definitions of all TLVs, as JSON.
#[pyfunction]
pub(crate) fn config_table() -> PyResult<String> {
    catch_panic(docsis_config::table_json)
}

/// Verifies the message integrity checks of a file, as JSON: `cm_mic`, `cmts_mic` and
/// `extended_mic` (null if the file defines none), each with `state` (right, stale, wrong,
/// unverifiable or missing), and with `found`, `computed` (hexadecimal) and `why` where there are.
/// `extended_mic` has `hmac_type`, the types that it `selects`, and `is_cmts_mic` too.
#[pyfunction]
#[pyo3(signature = (data, secret = None))]
pub(crate) fn config_mics(py: Python<'_>, data: &[u8], secret: Option<&[u8]>) -> PyResult<String> {
    catch_panic(|| mic::verify(&File::decode(data), secret))?
        .map(|mics| mics.to_json().to_string())
        .map_err(|error| mic_error(py, &error))
}

/// The file with its message integrity checks made anew: all of them with `secret`, or the CM MIC
/// alone if `cm_only`.
#[pyfunction]
#[pyo3(signature = (data, secret = None, *, cm_only = false))]
pub(crate) fn config_sign(
    py: Python<'_>,
    data: &[u8],
    secret: Option<&[u8]>,
    cm_only: bool,
) -> PyResult<Vec<u8>> {
    let which = match (secret, cm_only) {
        (_, true) => Which::Cm,
        (Some(secret), false) => Which::All(secret),
        (None, false) => {
            let text =
                "expected the secret of the CMTS (which may be empty) or cm_only, found neither";
            return Err(config_error(py, text, None, None));
        }
    };
    catch_panic(|| mic::sign(&File::decode(data), which).map(|file| file.encode()))?
        .map_err(|error| mic_error(py, &error))
}

fn mic_error(py: Python<'_>, error: &MicError) -> PyErr {
    config_error(py, &error.to_string(), None, None)
}
