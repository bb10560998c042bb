import type { Readable } from 'node:stream'
import type { Environments } from '../../apps/index.ts'
import type { Archives } from '../../archives/index.ts'
import type { Clock } from '../../base/index.ts'
import { planSource } from '../../builds/index.ts'
import { fieldInvalid, Problem, resources, schema } from '../../contract/index.ts'
import type { Requests } from '../../deployments/index.ts'
import type { DiskSpace } from '../../retention/index.ts'
import { askedBy } from '../asked.ts'
import { renderOperation } from '../render.ts'
import { type Route, route } from '../route.ts'

type Parts = {
  archives: Archives
  environments: Environments
  requests: Requests
  diskSpace: DiskSpace
  clock: Clock
  checkIsolation(): Promise<void>
}

export const uploadRoutes = ({
  archives,
  environments,
  requests,
  diskSpace,
  clock,
  checkIsolation,
}: Parts): Route[] => [
  route({
    method: 'POST',
    path: '/fu/v1/accounts/{account}/apps/{app}/environments/{environment}:upload',
    tag: 'Uploads',
    summary: 'Upload an archive: it is built and goes live',
    access: 'developer',
    audited: 'UPLOAD',
    takesForm: true,
    query: schema.object({
      validateOnly: schema.optional(
        schema.boolean({
          description: 'Answer with the plan, and build nothing: `{"plan": …}` instead of an operation.',
        }),
      ),
      force: schema.optional(
        schema.boolean({ description: 'Make it live also where the check of its pages finds broken ones.' }),
      ),
      ...resources.describedQuery,
    }),
    reply: { mediaType: 'application/json', schema: { anyOf: [resources.operation, resources.validatedPlan] } },
    problems: [
      'ENVIRONMENT_NOT_FOUND',
      'ENVIRONMENT_DELETING',
      'CONTENT_TYPE_UNSUPPORTED',
      'PART_MISSING',
      'PART_UNEXPECTED',
      'MULTIPART_MALFORMED',
      'UPLOAD_INTERRUPTED',
      'UPLOAD_TOO_SLOW',
      'ARCHIVE_NOT_ZIP',
      'ARCHIVE_EMPTY',
      'ARCHIVE_ENTRY_UNSAFE',
      'ARCHIVE_ENTRY_DUPLICATE',
      'ARCHIVE_ENCRYPTED',
      'ARCHIVE_SIZE_LIES',
      'ARCHIVE_TOO_LARGE',
      'PLAN_FAILED',
      'QUOTA_EXCEEDED',
      'ISOLATION_MISSING',
    ],
    async handle(call) {
      const { account, params, query, request, reply, principal } = call
      reply.type('application/json; charset=utf-8')
      const described = describedIn(query)
      // Checked before the body is read: a caller who may not upload should not have to send it all first.
      const { rootDirectory, state } = await environments.require(account.id, params.app, params.environment)
      if (state === 'DELETING') throw new Problem('ENVIRONMENT_DELETING')
      await checkIsolation()
      const length = Number(request.headers['content-length'] ?? 0)
      archives.expect(length)
      const [body, type] = [request.body as Readable, request.headers['content-type']]
      const promised = await diskSpace.forUpload(account, params.environment, length)
      const options = { admit: promised.cover }
      try {
        if (query.validateOnly) {
          const plan = await archives.inspect(body, type, options, (inside) =>
            planSource(inside, rootDirectory, account.id),
          )
          return JSON.stringify({ plan })
        }
        const archive = { ...(await archives.receive(body, type, options)), ...described }
        diskSpace.received(account, archive)
        const { requester } = principal
        const at = { account, appName: params.app, environmentId: params.environment }
        const forced = query.force ? askedBy(call, 'DEPLOY', clock) : undefined
        const operation = await requests.upload(at, archive, requester, forced)
        return JSON.stringify(renderOperation(account, operation) satisfies resources.Operation)
      } finally {
        promised.giveBack()
      }
    },
  }),
]

type DescribedQuery = schema.Static<schema.ObjectSchema> & {
  message?: string
  commit?: string
  commitBranch?: string
  commitSubject?: string
  commitDirty?: boolean
}

/** The message and the commit of the archive. Other facts about a commit need its hash. */
function describedIn(query: DescribedQuery): resources.Described {
  const { message = '', commit: sha, commitBranch: branch, commitSubject: subject, commitDirty: isDirty } = query
  const facts = {
    ...(branch === undefined ? {} : { branch }),
    ...(subject === undefined ? {} : { subject }),
    ...(isDirty === undefined ? {} : { isDirty }),
  }
  if (sha !== undefined) return { message, commit: { sha, ...facts } }
  if (Object.keys(facts).length > 0)
    throw fieldInvalid('commit', 'is required where its branch, subject or state is given')
  return { message, commit: null }
}
