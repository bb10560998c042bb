import type { Certificates } from '../../certificates/index.ts'
import { resources } from '../../contract/index.ts'
import { toPage } from '../../storage/index.ts'
import { listOf, pageQuery, pageRequest, type Route, route } from '../route.ts'

const CERTIFICATES = '/v1/accounts/{account}/certificates'
const tag = 'Certificates'

export const certificateRoutes = ({ certificates }: { certificates: Certificates }): Route[] => [
  route({
    method: 'GET',
    path: CERTIFICATES,
    tag,
    summary: 'List the certificates of an account: those that the service gets for its names, and uploaded ones',
    access: 'viewer',
    query: pageQuery,
    reply: listOf('certificates', resources.certificate),
    problems: ['PAGE_TOKEN_INVALID'],
    async handle({ account, query }) {
      const { items, nextPageToken } = await certificates.list(account, toPage(pageRequest(query)))
      return { certificates: items, nextPageToken }
    },
  }),
  route({
    method: 'GET',
    path: `${CERTIFICATES}/{certificate}`,
    tag,
    summary: 'Read a certificate; its key is never shown',
    access: 'viewer',
    reply: resources.certificate,
    problems: ['CERTIFICATE_NOT_FOUND'],
    handle: ({ account, params }) => certificates.get(account, params.certificate),
  }),
  route({
    method: 'POST',
    path: CERTIFICATES,
    tag,
    summary:
      'Upload a certificate for names of the account; it is used at once, instead of those that the service gets',
    access: 'developer',
    audited: 'UPLOAD_CERTIFICATE',
    body: resources.newCertificate,
    reply: resources.certificate,
    problems: ['CERTIFICATE_INVALID', 'ACCOUNT_LIMIT', 'TOO_MANY_RETRIES'],
    handle: ({ account, body }) => certificates.upload(account, body),
  }),
  route({
    method: 'DELETE',
    path: `${CERTIFICATES}/{certificate}`,
    tag,
    summary: 'Delete an uploaded certificate; the service gets one for its names',
    access: 'developer',
    audited: 'DELETE_CERTIFICATE',
    reply: resources.empty,
    problems: ['CERTIFICATE_NOT_FOUND', 'CERTIFICATE_OF_SERVICE'],
    async handle({ account, params }) {
      await certificates.remove(account, params.certificate)
      return {}
    },
  }),
  route({
    method: 'POST',
    path: `${CERTIFICATES}/{certificate}:retry`,
    tag,
    summary: 'Try at once to get a certificate that waits for its next attempt',
    access: 'developer',
    audited: 'RETRY_CERTIFICATE',
    reply: resources.certificate,
    problems: ['CERTIFICATE_NOT_FOUND', 'CERTIFICATE_NOT_WAITING', 'TOO_MANY_RETRIES'],
    handle: ({ account, params }) => certificates.retry(account, params.certificate),
  }),
]
