/** What the image of a build takes from the packages that the build installed. */
import type { Build, MadeBuild, Plan } from '../../builds/index.ts'
import type { Digest } from '../../storage/index.ts'

export type Made = Build & { output: Digest; plan: Plan }

export const madeOf = (build: Build): Made | undefined =>
  build.output !== null && build.plan !== null ? (build as Made) : undefined

export const hasPackages = ({ output }: Plan): boolean => output.kind === 'server' && output.folder === '.'

/** Undefined where the app brings its packages in its own files. */
export const packagesOf = ({ plan, packagesId }: MadeBuild): string | undefined =>
  hasPackages(plan) ? (packagesId ?? undefined) : undefined
