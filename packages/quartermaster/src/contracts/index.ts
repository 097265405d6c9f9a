export * from './agent.ts'
export * from './api.ts'
export * from './approval.ts'
export * from './attachment.ts'
export * from './call.ts'
export * from './capability.ts'
export * from './config.ts'
export * from './control.ts'
export * from './control-tools.ts'
export * from './control-upstreams.ts'
export * from './delegation.ts'
export * from './docs.ts'
export * from './errors.ts'
export * from './events.ts'
export * from './external-peer.ts'
export * from './imports.ts'
export * from './memory.ts'
export * from './message.ts'
export * from './operation.ts'
export * from './organisation.ts'
export { ORGANISATION_ROUTES } from './organisation-routes.ts'
export * from './platform.ts'
export {
  Bytes,
  Caller,
  ConsentOperationName,
  cappedWhole,
  cappedWholeText,
  codePointOf,
  ErrorBody,
  Issue,
  isBlank,
  isStorable,
  type Json,
  type JsonSchema,
  Name,
  PersonName,
  Problem,
  storableText,
  toStorable,
  waitSecondsText,
  wholeNumber,
} from './primitives.ts'
export * from './rows.ts'
export * from './tool.ts'
export * from './toolbox.ts'
export * from './upstream.ts'
