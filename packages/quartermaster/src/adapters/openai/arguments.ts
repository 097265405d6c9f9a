/** What a model wrote as arguments, nothing for none. What is no JSON goes to the call path as it is, which refuses it and says so. */
export function readArguments(text: string): unknown {
  try {
    return text === '' ? {} : (JSON.parse(text) ?? {})
  } catch {
    return text
  }
}
