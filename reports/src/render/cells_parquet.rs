//! `cells.parquet`: the table of cells for data frames, with the columns of `cells.csv` and types of their own: words are
//! strings, places in a count are 64-bit integers, yes and no are booleans, metrics are doubles. Null is unknown, never zero.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use super::cells::{Column, Row, columns, rows, text};
use crate::rows::Rows;

/// The file, of one row group.
pub fn cells_parquet(attempts: &Rows<'_>) -> Vec<u8> {
    let rows: Vec<Row<'_>> = rows(attempts).collect();
    written(&columns().collect::<Vec<_>>(), &rows)
        .expect("memory takes every column, and each column's values are of the type that the schema names")
}

fn written(columns: &[Column], rows: &[Row<'_>]) -> Result<Vec<u8>> {
    let fields = columns.iter().map(|column| Ok(Arc::new(field(column)?))).collect::<Result<_>>()?;
    let schema = Type::group_type_builder("cells").with_fields(fields).build()?;
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties)?;
    let mut group = writer.next_row_group()?;
    for column in columns {
        if let Some(mut place) = group.next_column()? {
            fill(column, rows, &mut place)?;
            place.close()?;
        }
    }
    group.close()?;
    writer.into_inner()
}

fn field(column: &Column) -> Result<Type> {
    let (physical, logical) = match column {
        Column::Text(..) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Column::Whole(..) => (Physical::INT64, None),
        Column::Truth(..) => (Physical::BOOLEAN, None),
        Column::Number(_) => (Physical::DOUBLE, None),
    };
    Type::primitive_type_builder(column.name(), physical)
        .with_logical_type(logical)
        .with_repetition(Repetition::OPTIONAL)
        .build()
}

fn fill(column: &Column, rows: &[Row<'_>], place: &mut SerializedColumnWriter<'_>) -> Result<usize> {
    match column {
        Column::Text(_, of) => {
            let words = |row| text(*of, row).map(|words| ByteArray::from(words.into_bytes()));
            values::<ByteArrayType>(place, rows.iter().map(words))
        }
        Column::Whole(_, of) => values::<Int64Type>(place, rows.iter().map(|row| Some(i64::from(of(row.1))))),
        Column::Truth(_, of) => values::<BoolType>(place, rows.iter().map(|row| of(row.1))),
        Column::Number(metric) => values::<DoubleType>(place, rows.iter().map(|row| row.1.metric(*metric))),
    }
}

/// Known values one after another, and for each row a level: 1 where its value is known.
fn values<T: DataType>(
    place: &mut SerializedColumnWriter<'_>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<usize> {
    let (mut known, mut levels) = (Vec::new(), Vec::new());
    for value in values {
        levels.push(i16::from(value.is_some()));
        known.extend(value);
    }
    place.typed::<T>().write_batch(&known, Some(&levels), None)
}
