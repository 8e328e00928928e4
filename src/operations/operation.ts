// What an operation is. It is stated once, by its answer and its description: the HTTP route, the API description, the client and what
// commands call are made from it.
import type { Static, Type } from 'typebox'
import type { Origin } from '../tokens/history/history.ts'
import type { Page, RawQuery } from '../tokens/model/page.ts'
import {
  type Caller,
  type Permissions,
  type PortalUse,
  type Right,
  requirePortalUse,
  requireRight,
} from '../tokens/model/permissions.ts'
import type { RightsIn } from '../tokens/people/sessions.ts'
import type { Registry } from '../tokens/service/registry.ts'
import type { Verifiers } from '../tokens/verifiers/verifiers.ts'
import type { RequestHeaders } from './conditions.ts'
import type { BeginExport } from './export.ts'

/** What operations work on, in a server and at the command line. */
export interface Service {
  readonly registry: Registry
  readonly verifiers: Verifiers
}

/** What only a running server has. */
export interface RunningService extends Service {
  readonly people: People
  /** The origin at which browsers reach the service, if it is known. */
  readonly publicUrl?: string | undefined
  readonly metrics: {
    countVerdicts(verdicts: Readonly<Record<string, number>>): void
  }
  readonly log: { warn(about: object, message: string): void }
}

export type Claims = Readonly<Record<string, unknown>>

export interface ShownGrant {
  readonly claim: string
  readonly value: string
  readonly permissions: Permissions
}

/** Those who sign in through the identity provider, and the grants that let them in. */
export interface People {
  readonly rightsIn: RightsIn
  grantsOf(accountId: string): readonly ShownGrant[]
  /** The claims that sign-in would count. */
  countedClaims(sent: Claims): Claims
  testClaims(
    counted: Claims,
    accountId: string,
  ): readonly { readonly grant: ShownGrant; readonly matches: boolean; readonly decides: boolean }[]
}

export interface Input {
  readonly caller: Caller
  /** Only those in the operation's `url` are there. */
  readonly params: Readonly<Record<'id' | 'subAccountId' | 'deliveryId', string>>
  readonly query: RawQuery
  readonly body: unknown
  readonly headers: RequestHeaders
  readonly origin: Origin
}

export interface Answered<Data extends object = object> {
  readonly data: Data
  /** Default: the message in the operation's description. */
  readonly message?: string
  readonly headers?: Readonly<Record<string, string>>
  /** For the request log. */
  readonly tokenId?: string
  /** It is the answer of `Operation.dryRun`. */
  readonly isDryRun?: true
}

export type Answer<Data extends object = object, Needed extends Service = RunningService> = (
  service: Needed,
  input: Input,
) => Promise<Answered<Data>>

/** How a list is sent as CSV. */
export interface Csv {
  /** The file's name begins with it. */
  readonly name: string
  readonly begin: BeginExport
}

export const JSON_TYPE = 'application/json'
/** The body is a Buffer: a text may be in any encoding. */
export const TEXT_TYPE = 'text/plain'

export type ObjectSchema = ReturnType<typeof Type.Object>
type Reasons = Readonly<Partial<Record<400 | 403 | 404 | 409 | 410 | 412 | 503, readonly string[]>>>

/** Needs a caller (an account key, a JWT or a signed-in person), and responds in the envelope. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: string
  readonly operationId: string
  readonly summary: string
  readonly tag: string
  readonly description?: string
  readonly params?: ObjectSchema
  readonly querystring?: ObjectSchema
  readonly headers?: ObjectSchema
  readonly body?: ObjectSchema
  /** Default: JSON. */
  readonly consumes?: string | readonly string[]
  readonly bodyLimitBytes?: number
  /** Fastify sends its fields, in its order, and no others. */
  readonly data: ObjectSchema
  readonly success: {
    readonly status?: 200 | 201 | 202
    readonly message: string
    readonly headers?: object
  }
  /** What an operation with another status answers, 200, when it was asked to change nothing. */
  readonly dryRun?: { readonly data: ObjectSchema; readonly message: string }
  /** The failures specific to this operation, with their reasons. */
  readonly failures: Reasons
  /** Default: to read for GET, to change for the others. Null: every caller may. */
  readonly right?: Right | readonly Right[] | null
  /** What a session of the portal needs to be for; unless set, it may not ask here at all. */
  readonly portal?: PortalUse
  /** True for the operations of the service document, which requires it; all others refuse unknown fields and parameters. */
  readonly ignoresUnknown?: true
  /** For lists that are sent as CSV to those who ask for it. */
  readonly csv?: Csv
  /** For questions that are sent by POST. The answer to anything else leaves through the gate: see tokens/verifiers/gate.ts. */
  readonly isQuestion?: true
  readonly answer: Answer
}

type Described = Omit<Operation, 'operationId' | 'answer'>
type DataOf<Each extends Described> =
  | Static<Each['data']>
  | (Each extends { dryRun: { data: infer Data extends ObjectSchema } } ? Static<Data> : never)

/** By their ids. An answer without all fields of its schema, or a description without an answer, does not compile. */
export function operationsOf<const All extends Readonly<Record<string, Described>>>(
  answers: { readonly [Id in keyof All]: Answer<DataOf<All[Id]>> },
  described: All,
): { readonly [Id in keyof All]: Operation } {
  const operations = Object.entries(described).map(([operationId, each]) => {
    return [operationId, { ...each, operationId, answer: answers[operationId] }]
  })
  return Object.fromEntries(operations)
}

export function rightsOf({ method, right = method === 'GET' ? 'read' : 'change' }: Operation): readonly Right[] {
  return right === null ? [] : [right].flat()
}

export function requireRights(operation: Operation, { permissions }: Caller): void {
  if (permissions.may !== undefined) requirePortalUse(permissions, operation.portal)
  else for (const right of rightsOf(operation)) requireRight(permissions, right)
}

export const isWrite = ({ method }: Operation) => method !== 'GET'

export const isChange = (operation: Operation) => isWrite(operation) && operation.isQuestion !== true

/** The answer of a list. */
export function listed<Item, Shown>(page: Page<Item>, nouns: string, show: (item: Item) => Shown) {
  return { message: `Found ${page.total} ${nouns}`, data: { ...page, items: page.items.map(show) } }
}
