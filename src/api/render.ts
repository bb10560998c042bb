/** Records as the contract shows them. Environments are described in the room that also records them in operations. */
import type { Account, Credential } from '../accounts/index.ts'
import type { App } from '../apps/index.ts'
import { toRfc3339 } from '../base/index.ts'
import { names, resources } from '../contract/index.ts'
import type { Operation } from '../operations/index.ts'

export const renderApp = (account: Account, app: App): resources.App => ({
  name: names.appResource({ account: account.name, app: app.name }),
  region: app.region,
  uploadable: {},
  createTime: toRfc3339(app.createTime),
})

export function renderOperation(account: Account, operation: Operation): resources.Operation {
  const at = { account: account.name, app: operation.appName, environment: operation.environmentId }
  return {
    name: names.operationResource(at, operation.id),
    metadata: {
      '@type': resources.OPERATION_METADATA_TYPE,
      build: names.buildResource(at, operation.build),
      deployment: operation.deployment,
      createTime: toRfc3339(operation.createTime),
      phase: operation.phase,
      trigger: operation.trigger,
    },
    done: operation.doneTime !== null,
    ...(operation.response === null ? {} : { response: operation.response as Record<string, unknown> }),
    ...(operation.error === null ? {} : { error: operation.error }),
  }
}

export const renderCredential = (account: Account, credential: Credential): resources.Credential => ({
  name: names.credentialResource(account.name, credential.id),
  userId: credential.id,
  displayName: credential.displayName,
  role: credential.role,
  createTime: toRfc3339(credential.createTime),
})
