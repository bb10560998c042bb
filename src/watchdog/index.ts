export * from './watchdog.ts'
