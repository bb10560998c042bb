/** Gitea and Forgejo: hooks as GitHub has them, signed in a header of their own, and statuses of commits. */
import type { IncomingHttpHeaders } from 'node:http'
import { Problem } from '../../contract/index.ts'
import { addressOf, apiBaseOf, pathOf } from './address.ts'
import { readGitHubEvent } from './github.ts'
import { header, isForm, jsonText, parse } from './payload.ts'
import { provesHex } from './proof.ts'
import { isOk, type Provider } from './provider.ts'
import { isCommit, line, post } from './status.ts'

const SIGNATURES = ['x-forgejo-signature', 'x-gitea-signature', 'x-gogs-signature', 'x-hub-signature-256']
const EVENTS = ['x-forgejo-event', 'x-gitea-event', 'x-gogs-event', 'x-github-event']
const STATES = { PENDING: 'pending', SUCCESS: 'success', FAILURE: 'failure' } as const
const MAX_TEXT = 255

const firstOf = (headers: IncomingHttpHeaders, names: readonly string[]): string =>
  names.map((name) => header(headers, name)).find((value) => value !== '') ?? ''

export const gitea: Provider = {
  name: 'GITEA',

  proves(headers, body, secret) {
    const signature = firstOf(headers, SIGNATURES).replace(/^sha256=/, '')
    // Of a form, the JSON within is what is signed.
    return signature !== '' && provesHex(signature, isForm(headers) ? formOf(headers, body) : body, secret)
  },

  read(headers, body) {
    return readGitHubEvent(firstOf(headers, EVENTS), () => parse(headers, body))
  },

  status(repositoryUrl, commit, status, token) {
    const segments = addressOf(repositoryUrl)?.segments ?? []
    if (segments.length < 2 || !isCommit(commit)) return undefined
    return post(
      `${apiBaseOf(repositoryUrl, 'GITEA')}/repos${pathOf(segments.slice(-2))}/statuses/${commit}`,
      { authorization: `token ${token.reveal()}` },
      {
        state: STATES[status.state],
        target_url: status.targetUrl,
        description: line(status.description, MAX_TEXT),
        context: line(status.context, MAX_TEXT),
      },
    )
  },

  accepted: isOk,
}

/** The signed part of a form. One that cannot be read is not signed by anyone. */
function formOf(headers: IncomingHttpHeaders, body: Buffer): string {
  try {
    return jsonText(headers, body)
  } catch (error) {
    if (error instanceof Problem) return ''
    throw error
  }
}
