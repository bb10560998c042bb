/**
 * Every package manager, in the order of precedence. Where there are several lockfiles, the first manager counts: npm comes
 * last, since `npm install` leaves a lockfile wherever it was run by mistake, and Yarn comes after Bun, which can write both.
 */
import { bun } from './bun.ts'
import { npm } from './npm.ts'
import type { Manager } from './package-manager.ts'
import { pnpm } from './pnpm.ts'
import { yarnBerry } from './yarn-berry.ts'
import { yarnClassic } from './yarn-classic.ts'

export const MANAGERS: readonly Manager[] = [pnpm, bun, yarnBerry, yarnClassic, npm]
