import { describeFileLimit } from './disk-errors.ts'

describeFileLimit(1)
