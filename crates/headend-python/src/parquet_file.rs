//! A result table as a Parquet file.
//!
//! Every column can hold nulls, as Polars writes it, although none is in a table of the engine. The
//! bytes depend on the table alone.

use std::sync::Arc;

use headend::metrics::table::{Column, Table};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{
    SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter,
};
use parquet::schema::types::{Type, TypePtr};

/// The most rows of a row group, which is what a reader decodes as one piece.
const GROUP_ROWS: usize = 1 << 18;

/// The number of values that are converted before they are encoded.
const BATCH_ROWS: usize = 1 << 13;

/// The bytes of the file.
pub(crate) fn encode(table: &Table) -> Result<Vec<u8>> {
    let properties = WriterProperties::builder()
        .set_created_by(concat!("headend version ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .build();
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, schema(table)?, Arc::new(properties))?;
    let rows = table.rows();
    for start in (0..rows).step_by(GROUP_ROWS) {
        let end = rows.min(start + GROUP_ROWS);
        let mut group = file.next_row_group()?;
        for (_, column) in &table.columns {
            match column {
                Column::Float(values) => {
                    write::<_, DoubleType>(&mut group, &values[start..end], |&value| value)?;
                }
                Column::Integer(values) => {
                    // A table has no integer above 2^63 - 1.
                    let whole = |&value: &u64| value as i64;
                    write::<_, Int64Type>(&mut group, &values[start..end], whole)?;
                }
                Column::Text(values) => {
                    let text = |value: &String| ByteArray::from(value.as_str());
                    write::<_, ByteArrayType>(&mut group, &values[start..end], text)?;
                }
            }
        }
        group.close()?;
    }
    file.close()?;
    Ok(bytes)
}

fn schema(table: &Table) -> Result<TypePtr> {
    let columns = table.columns.iter().map(|(name, column)| {
        let (physical, logical) = match column {
            Column::Float(_) => (Physical::DOUBLE, None),
            Column::Integer(_) => (Physical::INT64, None),
            Column::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()
            .map(Arc::new)
    });
    let columns = columns.collect::<Result<_>>()?;
    let root = Type::group_type_builder("root").with_fields(columns);
    Ok(Arc::new(root.build()?))
}

/// Writes the next column of a row group.
fn write<Value, Kind: DataType>(
    group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    values: &[Value],
    convert: impl Fn(&Value) -> Kind::T,
) -> Result<()> {
    let next: Option<SerializedColumnWriter<'_>> = group.next_column()?;
    let mut column = next.expect("the schema has each column of the table");
    for batch in values.chunks(BATCH_ROWS) {
        let converted: Vec<_> = batch.iter().map(&convert).collect();
        let present = vec![1; converted.len()];
        column
            .typed::<Kind>()
            .write_batch(&converted, Some(&present), None)?;
    }
    column.close()
}
