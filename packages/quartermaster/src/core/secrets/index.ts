export { doubtfulArguments } from './argument-secrets.ts'
export {
  createSecretRedactor,
  type Redact,
  redactedJson,
  type SecretRedactor,
} from './known-secrets.ts'
export { isName, looksLikeSecret } from './looks-like-secret.ts'
export { mask, REDACTED } from './mask.ts'
export { freeName, secretNamesOf } from './secret-store.ts'
export { commandText, separateSecrets, targetText } from './separate-secrets.ts'
