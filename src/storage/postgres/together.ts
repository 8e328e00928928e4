// Short questions that come at the same time, asked on one connection in one round trip. Each has its own answer, its
// own deadline and its own failure.
import type pg from 'pg'
import { Undone } from './batch.ts'
import { type Connection, DeadlinePassed, failure, isLost, translateError, type Work } from './connection.ts'

/** One connection answers them one after the other: so few that nobody waits long for those before. */
const MOST_TOGETHER = 8

interface Question {
  /** How long it may take. */
  readonly ms: number
  readonly work: Work<unknown>
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
  loan: Loan | undefined
  losses: number
  done: boolean
}

interface Settings {
  readonly connect: () => Promise<pg.PoolClient>
  readonly over: (client: pg.PoolClient) => Connection
}

export class Together {
  readonly #settings: Settings
  readonly #waiting: Question[] = []
  /** A connection for those that wait is on its way. */
  #coming = false

  constructor(settings: Settings) {
    this.#settings = settings
  }

  ask<Result>(ms: number, work: Work<Result>): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      const end = () => {
        clearTimeout(timer)
        question.done = true
      }
      const question: Question = {
        ms,
        work,
        resolve: (answer) => {
          end()
          resolve(answer as Result)
        },
        reject: (error) => {
          end()
          reject(translateError(error))
        },
        loan: undefined,
        losses: 0,
        done: false,
      }
      const timer = setTimeout(() => this.#pass(question), ms)
      this.#add(question)
    })
  }

  #add(question: Question): void {
    this.#waiting.push(question)
    if (this.#coming) return
    this.#coming = true
    // Whoever asks in this turn of the event loop has asked by then.
    setImmediate(() => this.#lend())
  }

  #pass(question: Question): void {
    const place = this.#waiting.indexOf(question)
    if (place >= 0) this.#waiting.splice(place, 1)
    question.reject(failure('unavailable', new DeadlinePassed(question.ms)))
    question.loan?.break()
  }

  async #lend(): Promise<void> {
    const client = await this.#settings.connect().catch((error: unknown) => failure('unavailable', error))
    const asked = this.#waiting.splice(0, MOST_TOGETHER)
    this.#coming = this.#waiting.length > 0
    if (this.#coming) void this.#lend()
    if (client instanceof Error) for (const question of asked) question.reject(client)
    else this.#askAll(client, asked)
  }

  #askAll(client: pg.PoolClient, asked: readonly Question[]): void {
    const db = this.#settings.over(client)
    const loan = new Loan(client, asked.length)
    for (const question of asked) {
      question.loan = loan
      question.work(db).then(
        (answer) => {
          loan.end()
          question.resolve(answer)
        },
        (error: unknown) => {
          if (isLost(error)) loan.break()
          else loan.end()
          this.#fail(question, error)
        },
      )
    }
  }

  /** Asked once more if it was undone for another's sake, or if its connection was lost for the first time. */
  #fail(question: Question, error: unknown): void {
    question.loan = undefined
    if (question.done) return
    if (error instanceof Undone || (isLost(error) && question.losses++ === 0)) this.#add(question)
    else question.reject(error)
  }
}

/** A connection that several questions share, until the last of them has its answer or one of them gives it up. */
class Loan {
  readonly #client: pg.PoolClient
  #open: number
  #held = true

  constructor(client: pg.PoolClient, questions: number) {
    this.#client = client
    this.#open = questions
    if (questions === 0) this.#release(false)
  }

  end(): void {
    if (--this.#open === 0) this.#release(false)
  }

  break(): void {
    this.#release(true)
  }

  #release(broken: boolean): void {
    if (this.#held) this.#client.release(broken)
    this.#held = false
  }
}
