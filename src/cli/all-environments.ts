/** The environments of all apps of an account, in as few requests as can be. */
import { LIMITS, type resources } from '../contract/index.ts'
import type { Service } from './connection/service.ts'
import { api, type Path } from './project/path.ts'

/** `account` is its path below `/v1/`: `accounts/default`. */
export const allEnvironments = (service: Service, account: Path): Promise<resources.Environment[]> =>
  service.list(api`/v1/${account}/apps/-/environments`, 'environments', { pageSize: LIMITS.maxPageSize })

/** `accounts/default/apps/shop/environments/…` is of `shop`. */
export const appOf = ({ name }: resources.Environment): string => name.split('/')[3] ?? ''
