/** Previews: environments of a branch, made on demand and removed when they are idle; and what is promoted from one to another. */
import { LIMITS } from '../limits.ts'
import { LINE_OF_TEXT, lineOfText } from '../names.ts'
import { array, boolean, integer, object, optional, type Static, string, time } from '../schema.ts'
import { operation } from './operation.ts'

/** Of an app. `environment` is an id, or null for the default. */
export type PreviewSettings = {
  isEnabled: boolean
  environment: string | null
  hasSecrets: boolean
  maxCount: number
  idleDays: number
}

export const DEFAULT_PREVIEWS: PreviewSettings = {
  isEnabled: true,
  environment: null,
  hasSecrets: false,
  maxCount: 10,
  idleDays: 14,
}

const enabled = boolean({ description: 'Whether previews are made. Those that exist stay. True unless it is changed.' })
const environment = string({
  maxLength: 200,
  description:
    'The environment whose variables, protection and settings previews get: its name, or empty for the one with `production: true`, else the oldest.',
})
const secrets = boolean({
  description:
    'Whether previews get secrets, too. A branch may have been written by anyone who can push it. False unless it is changed.',
})
const maxCount = integer({
  minimum: 1,
  maximum: LIMITS.previews,
  description: 'How many the app has at a time. 10 unless it is changed.',
})
const idleDays = integer({
  minimum: 1,
  maximum: LIMITS.previewIdleDays,
  description: 'A preview without a deployment and a visit for this long is deleted. 14 unless it is changed.',
})

export const previewSettings = object(
  { enabled, environment, secrets, maxCount, idleDays },
  { title: 'PreviewSettings' },
)
export type ShownPreviewSettings = Static<typeof previewSettings>

export const changedPreviewSettings = object(
  {
    enabled: optional(enabled),
    environment: optional(environment),
    secrets: optional(secrets),
    maxCount: optional(maxCount),
    idleDays: optional(idleDays),
  },
  { title: 'ChangedPreviewSettings', description: 'What is left out stays as it is.' },
)
export type ChangedPreviewSettings = Static<typeof changedPreviewSettings>

const branch = string({
  maxLength: LIMITS.branchLength,
  pattern: lineOfText,
  'x-form': LINE_OF_TEXT,
  description: 'The branch that it shows. An app has one preview of a branch.',
})

export const newPreview = object({ branch }, { title: 'NewPreview' })

export const preview = object(
  {
    branch,
    expireTime: time('When it is deleted. Each deployment and each visit moves this on.'),
    inheritedVariables: array(string(), {
      description:
        'The keys of variables that its last build had from another environment. Its own variables of the same keys win.',
    }),
  },
  { title: 'Preview' },
)
export type Preview = Static<typeof preview>

export const newPromotion = object(
  {
    target: string({
      maxLength: 200,
      description: 'The environment that gets it: its name, or its id. One of the same app.',
    }),
    build: optional(
      boolean({
        description:
          'False: refuse with PROMOTION_NEEDS_BUILD where the same output cannot be used. True unless it is given.',
      }),
    ),
  },
  { title: 'NewPromotion' },
)

export const promotion = object(
  {
    operation,
    built: boolean({ description: 'Whether the archive is built for the target. False: the same output goes live.' }),
    differing: array(string(), {
      description: 'Why it is built: the names of what a build of the target sees otherwise. Never values.',
    }),
  },
  { title: 'Promotion' },
)
export type Promotion = Static<typeof promotion>

/** Where a build's archive or output came from. */
export const promotedFrom = object(
  {
    environment: string({ description: 'The environment, which may be deleted by now.' }),
    displayName: string({ description: 'Its displayName at that time.' }),
    build: string({ description: 'The build that was live there.' }),
  },
  { title: 'PromotedFrom' },
)
export type PromotedFrom = Static<typeof promotedFrom>

/** Throws unless these are settings that a caller could have made. */
export function checkPreviewSettings(value: PreviewSettings): PreviewSettings {
  const { isEnabled, environment: base, hasSecrets, maxCount: max, idleDays: days } = value
  const isRight =
    typeof isEnabled === 'boolean' &&
    typeof hasSecrets === 'boolean' &&
    (base === null || typeof base === 'string') &&
    isWithin(max, LIMITS.previews) &&
    isWithin(days, LIMITS.previewIdleDays)
  if (!isRight) throw new Error('they are not settings of previews')
  return { isEnabled, environment: base, hasSecrets, maxCount: max, idleDays: days }
}

const isWithin = (value: unknown, max: number): boolean =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= max
