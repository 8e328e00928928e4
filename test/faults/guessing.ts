import { describeGuessing } from '../trust/guessing.ts'

describeGuessing(1_000_000)
