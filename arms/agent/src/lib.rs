//! The reference agent: loop, tool catalogue, surfaces, gateway; runs inside the cell.
