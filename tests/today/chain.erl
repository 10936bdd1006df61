%% outer_work -> middle_work -> leaf_work, each with work left to do after its call. chain:main(SECONDS)
-module(chain).
-export([main/1, outer_work/2, middle_work/1, leaf_work/3]).

leaf_work(0, S, _) -> S;
leaf_work(I, S, N) -> leaf_work(I - 1, (S * 31 + I + N) rem 1000003, N).

middle_work(N) -> leaf_work(200000, N, N) + 1.

outer_work(End, T) ->
    case erlang:monotonic_time(millisecond) < End of
        true ->
            R = middle_work(T rem 7),
            outer_work(End, T + R);
        false -> T
    end.

main(Seconds) ->
    R = outer_work(erlang:monotonic_time(millisecond) + Seconds * 1000, 0),
    io:format("~p~n", [R + 1]).
