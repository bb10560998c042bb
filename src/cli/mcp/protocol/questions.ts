/**
 * Questions to the user of the client, who answers in a form. By the older revisions the server sends a request; since 2026-07-28 it
 * answers the call with the question, and the client calls again with the answer and the token that came with the question.
 */
import { createHash, randomUUID } from 'node:crypto'
import { isObject, type Params } from './messages.ts'

export type Question = { message: string; about: string }

/** The call is answered with this question. */
export class AnswerNeeded extends Error {
  readonly result: object

  constructor(result: object) {
    super('an answer is needed')
    this.result = result
  }
}

const KEY = 'go_on'
const KEPT_MS = 10 * 60_000
/** Questions that wait; the oldest are forgotten, and asked again. */
const MAX_KEPT = 100

export const formOf = ({ message }: Question) => ({
  message,
  requestedSchema: {
    type: 'object',
    properties: { go: { type: 'boolean', title: 'Go on', description: 'Yes, do it.', default: false } },
    required: ['go'],
  },
})

export const isYes = (answer: unknown): boolean =>
  isObject(answer) && answer.action === 'accept' && isObject(answer.content) && answer.content.go === true

/** Questions of calls that are made a second time. A token is good once, for the same call and the same effect. */
export function createRepeatedCalls(now: () => number = Date.now) {
  const kept = new Map<string, { digest: string; until: number }>()

  function ask(question: Question, digest: string): never {
    const token = randomUUID()
    kept.set(token, { digest, until: now() + KEPT_MS })
    for (const oldest of [...kept.keys()].slice(0, -MAX_KEPT)) kept.delete(oldest)
    const params = { mode: 'form', ...formOf(question) }
    throw new AnswerNeeded({
      resultType: 'input_required',
      inputRequests: { [KEY]: { method: 'elicitation/create', params } },
      requestState: token,
    })
  }

  /** Whether the user agreed. Throws the question where this call brings no answer to it. */
  return (call: Params, question: Question): boolean => {
    const digest = digestOf(call, question)
    const { requestState: token, inputResponses: answers } = call
    const known = typeof token === 'string' ? kept.get(token) : undefined
    if (typeof token === 'string') kept.delete(token)
    const isAnswer = known && known.digest === digest && known.until > now()
    const answer = isObject(answers) ? answers[KEY] : undefined
    if (!isAnswer || answer === undefined) ask(question, digest)
    return isYes(answer)
  }
}

const digestOf = ({ name, arguments: given }: Params, { message, about }: Question): string =>
  createHash('sha256')
    .update(JSON.stringify([name, given, message, about]))
    .digest('hex')
