/**
 * Etags of what users can change. Each is a digest of those fields as stored, and of nothing else: a build that goes
 * live meanwhile does not make an edit of variables fail. For variables the sealed form is used, which has a random
 * part: the etag shows that a value changed, and nothing from which the value could be guessed.
 */
import { hash } from 'node:crypto'
import { names, Problem, resources } from '../contract/index.ts'
import type { EntityTags } from '../http/index.ts'
import type { App } from './apps.ts'
import type { DomainList } from './domains.ts'
import type { Environment } from './environment-rows.ts'
import { NO_PROTECTION } from './protection.ts'
import type { SealedVariable } from './variables.ts'

/** All of them must match. */
export type Preconditions = readonly EntityTags[]

/** Of an app with the default settings of previews it is the etag that earlier versions gave. */
export const appEtag = ({
  id,
  region,
  previews,
}: Pick<App, 'id' | 'region'> & Partial<Pick<App, 'previews'>>): string => {
  const isDefault = previews === undefined || JSON.stringify(previews) === JSON.stringify(resources.DEFAULT_PREVIEWS)
  return etagOf(isDefault ? [id, region] : [id, region, previews])
}

/** Of a public environment without settings of instances and without a branch it is the etag that earlier versions gave. */
export const environmentEtag = ({
  id,
  displayName,
  branch = names.UPLOADABLE,
  cmsEnvironment,
  rootDirectory,
  suspiciousOutput,
  promotionChecks = resources.DEFAULT_PROMOTION_CHECKS,
  contentSnapshots = null,
  scaling = resources.DEFAULT_SCALING,
  isProduction = true,
  protection = NO_PROTECTION,
  hasBadge = false,
  publishPromiseSeconds = null,
  learnedCaching = null,
  variables,
}: Pick<Environment, 'id' | 'displayName' | 'cmsEnvironment' | 'rootDirectory' | 'variables'> &
  Partial<
    Pick<
      Environment,
      | 'branch'
      | 'suspiciousOutput'
      | 'promotionChecks'
      | 'scaling'
      | 'isProduction'
      | 'protection'
      | 'hasBadge'
      | 'publishPromiseSeconds'
      | 'learnedCaching'
      | 'contentSnapshots'
    >
  >): string => {
  const kept = [id, displayName, cmsEnvironment, rootDirectory, suspiciousOutput, variables]
  const isDefault = resources.SCALING_FIELDS.every((field) => scaling[field] === resources.DEFAULT_SCALING[field])
  const isPublic = isProduction && protection.passwordHash === null && protection.addresses.length === 0
  return etagOf([
    ...kept,
    ...(isDefault ? [] : [resources.scalingOf(scaling)]),
    ...(isPublic ? [] : [{ isProduction, protection }]),
    ...(branch === names.UPLOADABLE ? [] : [{ branch }]),
    ...(hasBadge ? [{ hasBadge }] : []),
    ...(JSON.stringify(promotionChecks) === DEFAULT_CHECKS ? [] : [{ promotionChecks }]),
    ...(publishPromiseSeconds === null ? [] : [{ publishPromiseSeconds }]),
    ...(learnedCaching ? [{ learnedCaching }] : []),
    ...(contentSnapshots ? [{ contentSnapshots }] : []),
  ])
}

const DEFAULT_CHECKS = JSON.stringify(resources.DEFAULT_PROMOTION_CHECKS)

export const variableEtag = (variable: SealedVariable): string => etagOf(variable)

export const domainsEtag = (environmentId: string, { names, redirects }: DomainList): string =>
  etagOf(redirects.length === 0 ? [environmentId, names] : [environmentId, names, redirects])

/** Throws unless the current version is the one that the caller has read. `what` names the resource. */
export function requireEtag(preconditions: Preconditions, etag: string, what: string) {
  const isMet = (tags: EntityTags) => tags === '*' || tags.some((tag) => weak(tag) === etag)
  if (preconditions.every(isMet)) return
  const todo = 'Read it again, make your change to what is there now, and send it with the new etag.'
  throw new Problem('ETAG_MISMATCH', `The ${what} was changed after it was read, so nothing was done. ${todo}`)
}

/** 128 bits: enough that no two versions ever have the same. */
const TAG_LENGTH = 22

/** Weak (RFC 9110, section 8.8.1): what the service itself changes, such as the state, is not covered. */
const weak = (tag: string): string => `W/"${tag}"`

export const etagOf = (kept: unknown): string =>
  weak(hash('sha256', JSON.stringify(kept), 'base64url').slice(0, TAG_LENGTH))
