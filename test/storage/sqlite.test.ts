// The embedded engine, held to the contract of every engine.
import { openEmptySqlite } from '../support/sqlite.ts'
import { describeStore } from './contract.ts'

describeStore('the embedded store', openEmptySqlite)
