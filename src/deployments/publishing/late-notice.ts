/** What a notice about a late publish tells: pure. */
import type { EnvironmentHead } from '../../apps/index.ts'
import { secondsInWords } from '../../builds/index.ts'
import { names } from '../../contract/index.ts'
import { type Publish, partsOf } from '../../publishes/index.ts'

export type LateNotice = {
  accountId: string
  kind: 'PUBLISH_LATE'
  appName: string
  environmentId: string
  resource: string
  title: string
  text: string
  /** A path of the portal. */
  link: string
}

export function lateNotice(publish: Publish, environment: EnvironmentHead, account: string): LateNotice {
  const { id: environmentId, accountId, appName, displayName } = environment
  const { visibleMs = 0, waitingMs, buildingMs, switchingMs } = partsOf(publish)
  const isBuild = publish.kind === 'BUILD'
  const parts: [string, number | undefined][] = [
    ['Waited', waitingMs],
    ['Built', buildingMs],
    [isBuild ? 'Started and switched' : 'Purged', switchingMs],
  ]
  const lines = [
    `It was visible ${secondsInWords(visibleMs)} after ${publish.calls > 1 ? 'the first call' : 'the call'}. Promised: ${secondsInWords((publish.promiseSeconds ?? 0) * 1000)}.`,
    ...parts.flatMap(([word, ms]) => (ms === undefined ? [] : [`${word}: ${secondsInWords(ms)}`])),
  ]
  return {
    accountId,
    kind: 'PUBLISH_LATE',
    appName,
    environmentId,
    resource: names.publishResource({ account, app: appName, environment: environmentId }, publish.id),
    title: `${isBuild ? 'Publish' : 'Purge'} later than promised: ${appName} / ${displayName}`,
    text: lines.join('\n'),
    link: `/${account}/apps/${appName}/environments/${environmentId}/publishes`,
  }
}
