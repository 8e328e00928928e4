// What the exit code of a command says, and the errors of commands that have one of their own.
import { CommanderError } from 'commander'
import { Failure, StoreUnreachable } from '../../tokens/model/errors.ts'

/** `nothingFound`: of `find`, which has read everything. Nothing else has it: a search that failed must not look like an all-clear. */
export const EXIT = { done: 0, refused: 1, usage: 2, unreachable: 3, notAllowed: 4, nothingFound: 5 } as const

/** The command cannot be carried out as it was typed. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** A server refuses, or does not answer. With the code that the domain has for the same refusal, where it has one. */
export class ServerFailure extends Error {
  override readonly name = 'ServerFailure'
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** By the code of a failure: the same on the local store and through a server. */
const BY_CODE: Readonly<Record<string, number>> = {
  unavailable: EXIT.unreachable,
  unreachable: EXIT.unreachable,
  timeout: EXIT.unreachable,
  'unexpected-answer': EXIT.unreachable,
  'authentication-required': EXIT.notAllowed,
  'token-expired': EXIT.notAllowed,
  'token-invalid': EXIT.notAllowed,
  'token-inactive': EXIT.notAllowed,
  'token-cannot-manage': EXIT.notAllowed,
  'not-allowed': EXIT.notAllowed,
  forbidden: EXIT.notAllowed,
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return EXIT.usage
  if (error instanceof CommanderError) return exitCodeOfParser(error)
  if (error instanceof StoreUnreachable) return EXIT.unreachable
  return error instanceof Failure || error instanceof ServerFailure
    ? (BY_CODE[error.code] ?? EXIT.refused)
    : EXIT.refused
}

/** Commander has one code for everything that it cannot parse; commands that end with a code of their own keep it. */
function exitCodeOfParser({ code, exitCode }: CommanderError): number {
  return code.startsWith('commander.') && exitCode !== 0 ? EXIT.usage : exitCode
}
