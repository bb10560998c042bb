/** What the command line uses in addition. */
export { textOf } from './bodies.ts'
export { headersOf } from './client.ts'
export { errorIn, secondsIn } from './errors.ts'
export { notALog } from './log-lines.ts'
export { untilDone } from './operations.ts'
export * from './public.ts'
export { ACCOUNT, AddressError, APP, addressOf, type RouteName } from './route-types.ts'
