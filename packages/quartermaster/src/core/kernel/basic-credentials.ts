/**
 * What a URL says about who we are, as a browser takes it (RFC 7617); nothing where it says nothing. A "%" that begins no escape
 * stands for itself.
 */
export function basicCredentials({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined
  return `Basic ${btoa(`${bytesOf(username)}:${bytesOf(password)}`)}`
}

/** A character for each byte: what is escaped need not be UTF-8. The rest is ASCII, because `URL` escapes everything else. */
function bytesOf(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}
