export { doubtfulArguments } from './argument-secrets.ts'
export {
  createSecretRedactor,
  type Redact,
  type RedactStart,
  redactedJson,
  type SecretRedactor,
} from './known-secrets.ts'
export { isName, isSecretName, looksLikeSecret } from './looks-like-secret.ts'
export { mask, REDACTED } from './mask.ts'
export { freeName, secretNamesOf } from './secret-store.ts'
export { commandText, type SeparatedEntry, separateSecrets, targetText } from './separate-secrets.ts'
