/** At once where it is known already: that is so for nearly every request. */
export function after<T, U>(value: T | Promise<T>, then: (value: T) => U | Promise<U>): U | Promise<U> {
  return value instanceof Promise ? value.then(then) : then(value)
}
