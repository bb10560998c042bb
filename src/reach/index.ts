export { createDomainChecks, createNameCheck, type DomainChecks, type NameCheck } from './checks.ts'
export { createLookup } from './lookup.ts'
