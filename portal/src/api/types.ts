/** The contract's own types, as the portal uses them. Types only: nothing of the service is ever built in. */
import type { VariableKind as Kind, resources, schema } from '../../../src/contract/index.ts'

export type App = resources.App
export type Environment = resources.Environment
export type Operation = resources.Operation
export type Build = resources.Build
export type Deployment = resources.Deployment
export type Role = resources.Role
export type Phase = resources.Phase
export type Trigger = resources.Trigger
export type Session = schema.Static<typeof resources.session>
export type NewEnvironment = resources.NewEnvironment
export type ShellVariable = resources.ShellVariable
export type VariableKind = Kind
export type Region = schema.Static<typeof resources.region>
export type User = resources.User
export type Invitation = resources.Invitation
export type Credential = resources.Credential
export type Traffic = resources.Traffic
export type TrafficRange = resources.TrafficRange
export type TrafficPaths = resources.TrafficPaths
export type PathCount = resources.PathCount
export type DomainChecks = resources.DomainChecks
export type DomainCheck = resources.DomainCheck
export type DomainRedirect = resources.DomainRedirect
export type DnsRecord = resources.DnsRecord
export type EnvironmentUsage = resources.EnvironmentUsage
export type AccountUsage = resources.AccountUsage
export type UsageKind = resources.UsageKind
export type AddedUser = schema.Static<typeof resources.addedUser>
export type IssuedCredential = schema.Static<typeof resources.issuedCredential>
export type WebhookAction = resources.WebhookAction
export type WebhookSet = resources.WebhookSet
export type IssuedWebhookSet = resources.IssuedWebhookSet
export type RecordedTrigger = resources.RecordedTrigger
export type TriggerAction = resources.TriggerAction
export type TriggerSource = resources.TriggerSource
