import { describeGuessing } from './guessing.ts'

describeGuessing(20_000)
