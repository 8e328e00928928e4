// Loaded before the server (`--import`): gives its writing connection settings that ours never has, read anew from a
// file before each transaction, so that real SQLite runs out of room, or is less careful than it should be. With
// FAULTS_LOG_TIMES the log seems so many times longer, so that it is moved into the database that much more often.
import { readFileSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue, StatementSync } from 'node:sqlite'

const file = process.env.FAULTS_PRAGMAS ?? ''
const { prepare } = DatabaseSync.prototype
const { get, run } = StatementSync.prototype
const times = Number(process.env.FAULTS_LOG_TIMES ?? 1)
const databases = new WeakMap<StatementSync, DatabaseSync>()

DatabaseSync.prototype.prepare = function (sql) {
  const statement = prepare.call(this, sql)
  databases.set(statement, this)
  return statement
}

StatementSync.prototype.run = function (this: StatementSync, ...values: SQLInputValue[]) {
  if (this.sourceSQL === 'BEGIN IMMEDIATE') databases.get(this)?.exec(readFileSync(file, 'utf8'))
  return run.call(this, ...(values as [never]))
} as typeof run

StatementSync.prototype.get = function (this: StatementSync, ...values: SQLInputValue[]) {
  const found = get.call(this, ...(values as [never])) as unknown
  if (this.sourceSQL !== 'PRAGMA wal_checkpoint(NOOP)') return found
  const [busy, pages, copied] = found as [number, number, number]
  return [busy, pages * times, copied]
} as typeof get
