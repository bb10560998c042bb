/**
 * Every package manager, in the order in which they are asked. Where lockfiles of several are there, the first counts:
 * that of npm comes last, since `npm install` leaves one behind wherever it was run by mistake, and that of Yarn after
 * that of Bun, which can write both.
 */
import { bun } from './bun.ts'
import { npm } from './npm.ts'
import type { Manager } from './package-manager.ts'
import { pnpm } from './pnpm.ts'
import { yarnBerry } from './yarn-berry.ts'
import { yarnClassic } from './yarn-classic.ts'

export const MANAGERS: readonly Manager[] = [pnpm, bun, yarnBerry, yarnClassic, npm]
