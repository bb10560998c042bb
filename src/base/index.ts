export * from './clock.ts'
export * from './ids.ts'
export * from './log.ts'
export * from './secret.ts'
