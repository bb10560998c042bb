/** Deployments as the service sees them, and as the table has them. */
import type { SealedVariable } from '../../apps/index.ts'
import type { resources } from '../../contract/index.ts'
import { statement } from '../../storage/index.ts'

export type Deployment = {
  id: string
  environmentId: string
  buildId: string
  operationId: string
  variables: SealedVariable[]
  state: resources.DeploymentState
  /** It was started so that its answers say what content they are made of. */
  namesContent: boolean
  createTime: number
  liveTime: number | null
  retireTime: number | null
  discardTime: number | null
}

/** Without its variables, which may take half a megabyte. */
export type DeploymentHead = Omit<Deployment, 'variables'>

export type DeploymentPath = { accountId: string; environmentId: string }

export type DeploymentRow = {
  id: string
  environment_id: string
  build_id: string
  operation_id: string
  shell_variables: string
  state: Deployment['state']
  names_content: number
  create_time: number
  live_time: number | null
  retire_time: number | null
  discard_time: number | null
}

export type HeadRow = Omit<DeploymentRow, 'shell_variables'>

export const headColumns = statement`id, environment_id, build_id, operation_id, state, names_content, create_time,
  live_time, retire_time, discard_time`
export const columns = statement`${headColumns}, shell_variables`

export const toDeployment = (row: DeploymentRow): Deployment => ({
  ...toHead(row),
  variables: JSON.parse(row.shell_variables),
})

export const toHead = (row: HeadRow): DeploymentHead => ({
  id: row.id,
  environmentId: row.environment_id,
  buildId: row.build_id,
  operationId: row.operation_id,
  state: row.state,
  namesContent: row.names_content === 1,
  createTime: row.create_time,
  liveTime: row.live_time,
  retireTime: row.retire_time,
  discardTime: row.discard_time,
})
