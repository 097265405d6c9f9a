/**
 * Whether a value that someone wrote down is probably a credential, by its name or by its form. A reference to one is none.
 * Being wrong costs little: a text that is no secret works from the secrets file as well.
 */
export function isSecretText(name: string, value: string): boolean {
  const literal = value.replace(REFERENCE, '')
  if (literal !== value) return FORMS.some(form => form.test(literal))
  if (value === '' || /^(?:true|false|\d{1,5})$/i.test(value)) return false
  return isSecretName(name) || FORMS.some(form => form.test(value)) || isRandom(value)
}

/** Whether a name says that its value is a credential. */
export function isSecretName(name: string): boolean {
  const words = name.replace(/([a-z\d])([A-Z])/g, '$1-$2').replace(/([A-Z])([A-Z][a-z])/g, '$1-$2')
  return (SECRET_NAME.test(name) || SECRET_NAME.test(words)) && !/public[-_.]?key$/i.test(words)
}

const REFERENCE = /\$\{[^}]*\}/g

const SECRET_NAME =
  /(?:^|[-_.\s])(?:authorization|cookie|pass(?:word|wd|phrase)?|pwd|secret|token|pat|bearer|credentials?|(?:api)?[-_]?key)$/i

/** How credentials of well-known services, and credentials as they travel, begin. */
const FORMS: readonly RegExp[] = [
  /\b(?:bearer|basic)\s+\S{8,}/i,
  /:\/\/[^\s/@:]+:[^\s/@]+@/,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
  /\b(?:sk|rk|pk)[-_][\w-]{16,}/,
  /\b(?:gh[opusr]|github_pat)_\w{16,}/,
  /\bglpat-[\w-]{16,}/,
  /\bxox[a-z]-[\w-]{8,}/,
  /\bxapp-[\w-]{8,}/,
  /\bA(?:KIA|SIA)[0-9A-Z]{16}\b/,
  /\bAIza[\w-]{30,}/,
  /\bya29\.[\w-]{8,}/,
  /\beyJ[\w-]{8,}\.[\w-]{8,}\./,
  /\b(?:ntn|npm|hf|figd|secret|shpat|lin_api|dop_v1|qm)_[\w-]{16,}/,
  /\b(?:pplx|tvly|fc|SG)[-.][\w.-]{16,}/,
]

/** Long, of one piece, and mixed: nobody writes that by hand. */
function isRandom(value: string): boolean {
  return /^[\w+/=.~-]{32,}$/.test(value) && /\d/.test(value) && /[A-Za-z]/.test(value) && !/[/\\.]\w+[/\\.]/.test(value)
}
