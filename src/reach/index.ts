export { createDomainChecks, type DomainChecks } from './checks.ts'
export { createLookup } from './lookup.ts'
