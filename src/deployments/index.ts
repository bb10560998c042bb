export { type Described, describeEnvironment, type SiteUrl } from './describe.ts'
export { createHandlers } from './provision.ts'
export { CHANGEABLE, type Changeable, createRequests, type Requests } from './request.ts'
export { createRouting, type Routing } from './routing.ts'
