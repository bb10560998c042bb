/** Pushes to branches that no environment names, on a real database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openModules } from '../../test/support/modules/deployments.ts'
import { createBuildRequests, createRequests } from '../deployments/index.ts'
import { createPreviews } from '../previews/index.ts'
import { toPage } from '../storage/index.ts'
import { createBranches } from './branches.ts'

test('a push to a branch without an environment is deployed to its preview, which goes with the branch', async (t) => {
  const modules = await openModules(t)
  const { account, environments, previewRecords: records, sql } = modules
  const { appId, appName } = await modules.environment()
  const routing = { touch: environments.touchRoutes, publish: async () => undefined }
  const buildRequests = createBuildRequests(modules)
  const requests = createRequests({ ...modules, routing, buildRequests })
  const previews = createPreviews({ ...modules, records, requests, routing, maxEnvironments: 0 })
  const branches = createBranches({ ...modules, buildRequests, previews, admitBuild: async () => undefined })
  const archive = await modules.archiveOf('zip')
  const app = { id: appId, name: appName }
  const push = (branch: string, source?: 'REPOSITORY') =>
    branches.deploy({ account, app, branch, archive, requester: null, ...(source ? { source } : {}) })

  const [[first], [second]] = [await push('feature/x'), await push('feature/x', 'REPOSITORY')]
  const { items } = await modules.ledger.list(first?.environment.id ?? '', toPage({}))
  assert.deepEqual(
    items.map(({ source }) => source),
    ['REPOSITORY', 'PUSH'],
  )
  assert.deepEqual([first?.environment.isPreview, first?.environment.displayName], [true, 'feature/x'])
  assert.equal(second?.environment.id, first?.environment.id)
  assert.deepEqual(await push('uploadable'), [])
  await previews.changeSettings(account, appName, { given: { enabled: false }, preconditions: [] })
  assert.deepEqual(await push('another'), [])

  await branches.deleted({ account, app, branch: 'feature/x', requester: null })
  await branches.deleted({ account, app, branch: 'never/there', requester: null })
  assert.equal((await environments.byId(sql, first?.environment.id ?? ''))?.state, 'DELETING')
})
