// What threads send each other: a call by the name of an operation, and its reply.
import { Failure } from '../../../tokens/model/errors.ts'
import { translateError } from '../sqlite-connection.ts'

export interface Call {
  readonly id: number
  readonly name: string
  readonly args: readonly unknown[]
  /** Until the deadline of the request, if there is one. */
  readonly msLeft?: number | undefined
}

export type Reply =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly failure: Pick<Failure, 'code' | 'message' | 'details'>; readonly cause?: string }
  | { readonly id: number; readonly fault: Error }

/** Functions of a connection or of a transaction, and of the call's arguments. */
export type Operations = Readonly<Record<string, (target: never, ...args: never[]) => unknown>>

export function perform(operations: Operations, target: unknown, { name, args }: Call): unknown {
  const operation = operations[name]
  if (operation === undefined) throw new Error(`no operation ${name}`)
  return operation(target as never, ...(args as never[]))
}

export function refusal(id: number, error: unknown): Reply {
  const meaning = translateError(error)
  if (!(meaning instanceof Failure)) return { id, fault: error as Error }
  const { code, message, details, cause } = meaning
  const failure = { code, message, details }
  return cause instanceof Error ? { id, failure, cause: cause.message } : { id, failure }
}
